"""Given names in Latin script, and family names that come first."""

from __future__ import annotations

from metassay.text.words import word_set

FEMALE = word_set(
    """
    Abigail Ada Adele Agnes Agnieszka Aisha Alexandra Alice Alina Amanda Amelia Amy Ana Anastasia Andrea
    Angela Angelina Anita Anja Anke Ann Anna Annalena Anne Annika Antonia Ashley Astrid Audrey Barbara
    Beate Beatrice Beth Betty Birgit Bridget Brigitte Britta Camilla Carla Carmen Carol Carole Carolin
    Caroline Carrie Catherine Cathy Charlotte Chelsea Cheryl Christiane Christina Christine Cindy Claire
    Clara Claudia Cynthia Daniela Danielle Daisy Deborah Denise Diana Diane Donna Dora Doris Dorothea
    Dorothy Edith Eileen Elena Elisabeth Elizabeth Ella Ellen Elsa Emilia Emily Emma Erika Esther Eva Eve
    Evelyn Fatima Fiona Florence Frances Franziska Gabriele Gabriella Gemma Gerda Gillian Gloria Greta
    Gudrun Hannah Hanna Heather Heidi Heike Helen Helena Helga Hilary Hillary Ida Ines Inge Ingrid Irene
    Iris Isabel Isabella Jacinda Jacqueline Jana Jane Janet Janine Jasmin Jean Jenna Jennifer Jenny
    Jessica Joan Joanna Joanne Johanna Josephine Joyce Judith Judy Julia Juliane Julie Juliet Jutta Karen
    Karin Karina Karla Kate Katharina Katherine Kathleen Kathrin Kathy Katie Katja Katrin Kelly Kerstin
    Kim Kamala Kasia Kirsten Kristen Kristin Lara Larissa Laura Lauren Lea Leah Lena Leonie Leslie Liliana
    Lily Linda Lisa Liz Lois Louisa Louise Lucia Lucy Luisa Lydia Lynn Madeleine Maja Manuela Margaret
    Margarete Margot Maria Marian Marie Marina Marion Marlene Marta Martha Martina Mary Mathilda Maya
    Megan Melanie Melinda Melissa Meryl Mia Michelle Mila Miranda Miriam Molly Monica Monika Nadine Nadja
    Nancy Natalia Natalie Natasha Nicola Nicole Nina Nora Olga Olivia Pamela Patricia Paula Pauline Peggy
    Petra Phoebe Polly Priti Rachel Rebecca Regina Renate Rita Roberta Rosa Rosemary Ruth Sabine Sabrina
    Sally Samantha Sandra Sara Sarah Scarlett Serena Sharon Sheila Shirley Silke Silvia Simone Sofia Sonia
    Sonja Sonya Sophia Sophie Stefanie Stella Stephanie Sue Susan Susanne Suzanne Svetlana Sylvia Tamara
    Tanja Tara Tatiana Teresa Theresa Tiffany Tina Ulrike Ursula Ute Valentina Valerie Vanessa Vera
    Veronica Victoria Viktoria Viola Vivian Wendy Whitney Yasmin Yvonne Zoe
    """
)
MALE = word_set(
    """
    Aaron Abdul Abdullah Abraham Adam Adrian Ahmad Ahmed Akhil Alan Albert Aleksandr Alessandro Alex
    Alexander Alexei Alfie Alfred Ali Allan Amir Anatoly Andre Andreas Andrei Andrew Andy Angus Anthony
    Anton Antonio Antony Archie Arnold Arthur Axel Barack Barry Bastian Ben Benedikt Benjamin Bernard
    Bernd Bernie Bill Billy Björn Bob Bobby Boris Brad Bradley Brandon Brendan Brent Brett Brian Bruce
    Bruno Bryan Carl Carlos Charles Charlie Chris Christian Christoph Christopher Claus Clint Cody Colin
    Connor Conor Craig Curtis Cyril Dale Damian Damien Dan Daniel Danny Darren Dave David Denis Dennis
    Derek Detlef Diego Dieter Dietmar Dirk Dmitri Dominic Dominik Donald Doug Douglas Duncan Dustin Dwayne
    Dylan Eddie Edgar Eduard Edward Edwin Elias Elijah Elliot Elon Emil Emmanuel Enrico Eric Erich Erik
    Ernest Ernst Ethan Ezekiel Eugen Eugene Evan Evgeny Fabian Felix Fernando Finn Florian Francis
    Francisco Franck Frank Franz Fred Frederic Frederik Friedrich Fritz Gareth Garrett Gary Gavin Geoff
    Geoffrey Georg George Gerald Gerard Gerd Gerhard Giovanni Glen Glenn Gordon Graham Greg Gregor Gregory
    Guido Günter Gustav Hans Harald Harold Harry Hartmut Harvey Hassan Heiko Heinrich Heinz Helmut Henning
    Henri Henrik Henry Herbert Hermann Holger Horst Howard Hugh Hugo Hussein Ian Ibrahim Igor Isaac Ivan
    Jack Jackson Jacob Jakob James Jamie Jan Jared Jason Javier Jay Jeff Jeffrey Jens Jeremy Jerome Jerry
    Jim Jimmy Joachim Jochen Joe Joel Johan Johann Johannes John Johnny Jon Jonas Jonathan Jorge Jose
    Josef Joseph Josh Joshua Juan Julian Julius Jürgen Justin Kai Karl Karsten Keith Ken Kenneth Kevin
    Khaled Klaus Konrad Konstantin Kurt Kyle Lance Larry Lars Lawrence Lee Leo Leon Leonard Leonardo Lewis
    Liam Linus Lionel Lloyd Logan Lorenz Louis Luca Lucas Luigi Luis Lukas Luke Lutz Magnus Malcolm
    Manfred Manuel Marc Marcel Marco Marcus Mario Mark Markus Martin Marvin Mason Mateusz Michail Mathias
    Matt Matthew Matthias Maurice Max Maximilian Michael Miguel Mike Mikhail Mitch Mitchell Mohamed
    Mohammed Morgan Moritz Muhammad Nathan Neil Nelson Neville Niall Nicholas Nick Nico Nicolas Niels
    Nigel Nikolai Nils Noah Norbert Norman Olaf Oleg Oliver Omar Oscar Oskar Otto Owen Pablo Pascal
    Patrick Paul Pavel Pedro Pete Peter Phil Philip Philipp Phillip Pierre Rafael Rainer Ralf Ralph Ramesh
    Randolph Randy Ray Raymond Reinhard Rene Ricardo Richard Rick Ricky Rishi Rob Robert Roberto Robin
    Rodney Roger Roland Rolf Ron Ronald Ronny Ross Rory Roy Rudi Rudolf Rupert Russell Ryan Sam Samuel
    Scott Sean Sebastian Sergei Sergej Sergio Seth Shane Shaun Sidney Siegfried Silvio Simon Stan Stanley
    Stefan Steffen Stephan Stephen Steve Steven Stewart Stuart Sven Tadhg Ted Terry Theo Theodor Thomas
    Thorsten Til Tim Timo Timothy Tobias Todd Tom Tommy Toni Tony Torsten Travis Trevor Troy Tyler Udo Ulf
    Ulrich Uri Uwe Victor Viktor Vincent Vitali Vladimir Volker Walt Walter Warren Wayne Werner Wilhelm
    Willi William Willy Winston Wladimir Wolfgang Xavier Yahya Yusuf Zachary
    """
)
FAMILY_NAMES = word_set(
    """
    Adenauer Baerbock Beethoven Biden Blair Blinken Bolsonaro Bush Cameron Carter Castro Churchill Clinton
    Darwin Einstein Erdogan Erdoğan Federer Freud Gaddafi Gandhi Goethe Gorbatschow Gorbachev Guterres
    Harris Hitler Jefferson Johnson Kafka Kennedy Kissinger Lavrov Lawrow Laschet Lauterbach Lenin Lincoln
    Lindner Lukaschenko Macron Maduro Mandela Marx Merkel Merz Messi Modi Morrison Mozart Musk Napoleon
    Netanjahu Netanyahu Nixon Obama Orbán Pelosi Picasso Powell Putin Reagan Ronaldo Roosevelt Sarkozy
    Schäuble Scholz Schröder Selenskyj Shakespeare Spahn Stalin Steinmeier Stoltenberg Sunak Thatcher
    Thunberg Trudeau Truman Trump Truss Yellen Zelensky Zuckerberg
    """
)
"""People known by their family names."""

FAMILY_NAMES_FIRST = word_set(
    """
    Wang Li Zhang Liu Chen Yang Huang Zhao Wu Zhou Xu Sun Ma Zhu Hu Guo He Lin Gao Luo Zheng Liang Xie
    Song Tang Deng Han Feng Cao Peng Zeng Xiao Tian Dong Pan Yuan Cai Jiang Yu Du Ye Cheng Wei Su Lu Ding
    Ren Yao Shen Zhong Cui Tan Lai Fan Qiu Xi Xiong Meng Qin Bai Jin Hou Gu Shi Long Wan Duan Qian Yin
    Kong Kim Park Choi
    """
)
"""East Asian family names."""
